package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"frontdesk/core/gateway"
)

type manCommand struct{}

// Run prints the manual page, in the man macros of roff (man(7)).
func (manCommand) Run(s *session, k *kong.Kong) error {
	p := manPage{to: s.out}
	p.write(k.Model)
	return p.err
}

// manPage writes a manual page from the declarations of the commands.
type manPage struct {
	to  io.Writer
	err error
}

func (p *manPage) write(app *kong.Application) {
	p.macro("TH", strings.ToUpper(app.Name), "1", "", app.Name+" "+gateway.Version(), "Frontdesk")
	p.macro("SH", "NAME")
	p.text(app.Name + " - " + app.Help)
	p.macro("SH", "SYNOPSIS")
	p.text(app.Name + " [--config=FILE] COMMAND")
	p.macro("SH", "OPTIONS")
	p.flags(app.Flags)
	p.macro("SH", "COMMANDS")
	for _, command := range app.Leaves(true) {
		p.macro("SS", command.Summary())
		p.text(command.Help)
		if command.Detail != "" {
			p.macro("PP")
			p.text(command.Detail)
		}
		for _, argument := range command.Positional {
			p.option("<"+argument.Name+">", argument.Help)
		}
		p.flags(command.Flags)
	}
	p.macro("SH", "ENVIRONMENT")
	p.text("Every key of the configuration is also a variable: FRONTDESK_ and its path in capitals, with two " +
		"underscores between levels, such as FRONTDESK_SERVER__LISTEN. Variables win over the file.")
	p.macro("SH", "EXIT STATUS")
	for _, status := range []struct{ code, means string }{
		{"0", "The command did what was asked."}, {"1", "It failed."}, {"2", "The command line cannot be used."},
	} {
		p.option(status.code, status.means)
	}
}

func (p *manPage) flags(flags []*kong.Flag) {
	for _, f := range flags {
		if !f.Hidden {
			p.option(f.String(), f.Help)
		}
	}
}

func (p *manPage) option(name, help string) {
	p.macro("TP")
	p.line("\\fB" + escape(name) + "\\fR")
	p.text(help)
}

// macro writes a request with its arguments, each in quotes.
func (p *manPage) macro(name string, arguments ...string) {
	line := "." + name
	for _, a := range arguments {
		line += ` "` + strings.ReplaceAll(escape(a), `"`, `""`) + `"`
	}
	p.line(line)
}

// text writes words as a line of their own, that is no request.
func (p *manPage) text(words string) {
	words = escape(strings.Join(strings.Fields(words), " "))
	if strings.HasPrefix(words, ".") || strings.HasPrefix(words, "'") {
		words = `\&` + words
	}
	p.line(words)
}

func (p *manPage) line(text string) {
	if p.err == nil {
		_, p.err = fmt.Fprintln(p.to, text)
	}
}

// escape keeps roff from reading backslashes and hyphens as its own.
func escape(text string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
}
