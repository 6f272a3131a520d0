package main

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// The scripts ask the binary for the words that can follow, so that they never differ from its commands.
var (
	//go:embed completion/frontdesk.bash
	completionBash string
	//go:embed completion/_frontdesk
	completionZsh string
	//go:embed completion/frontdesk.fish
	completionFish string
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help returns the text that is shown with the flags.
func (completionCommand) Help() string {
	return "For bash: frontdesk completion bash > /etc/bash_completion.d/frontdesk. For zsh: frontdesk completion " +
		"zsh > /usr/local/share/zsh/site-functions/_frontdesk. For fish: frontdesk completion fish > " +
		"~/.config/fish/completions/frontdesk.fish."
}

// Run prints the script.
func (c completionCommand) Run(s *session) error {
	script := map[string]string{"bash": completionBash, "zsh": completionZsh, "fish": completionFish}[c.Shell]
	_, err := fmt.Fprint(s.out, script)
	return err
}

// completeCommand is what the scripts call.
type completeCommand struct {
	Words []string `arg:"" optional:"" help:"The words after frontdesk, up to the one that is being typed."`
}

// Run prints the words that can stand in the place of the last one, one a line.
func (c completeCommand) Run(s *session, k *kong.Kong) error {
	for _, word := range candidates(k.Model.Node, c.Words) {
		if _, err := fmt.Fprintln(s.out, word); err != nil {
			return err
		}
	}
	return nil
}

// candidates returns the words that can stand in the place of the last one. It returns none where the command
// line takes a value of any form; the shell then offers files.
func candidates(at *kong.Node, words []string) []string {
	typed := ""
	if len(words) > 0 {
		typed, words = words[len(words)-1], words[:len(words)-1]
	}
	var value *kong.Flag // whose value is the next word
	for _, word := range words {
		switch name, isFlag := strings.CutPrefix(word, "--"); {
		case value != nil:
			value = nil
		case isFlag:
			value = flagNamed(at, name)
		default:
			if next := childNamed(at, word); next != nil {
				at = next
			}
		}
	}
	switch {
	case value != nil:
		return beginWith(typed, value.EnumSlice())
	case strings.HasPrefix(typed, "-"):
		return beginWith(typed, flagNames(at))
	}
	var names []string
	for _, child := range at.Children {
		if !child.Hidden {
			names = append(names, child.Name)
		}
	}
	for _, argument := range at.Positional {
		names = append(names, argument.EnumSlice()...)
	}
	return beginWith(typed, names)
}

// flagNamed returns the flag of a command if its value is a word of its own, or nil.
func flagNamed(at *kong.Node, name string) *kong.Flag {
	for _, group := range at.AllFlags(true) {
		for _, f := range group {
			if f.Name == name && !f.IsBool() && !f.IsCounter() {
				return f
			}
		}
	}
	return nil
}

func flagNames(at *kong.Node) []string {
	var names []string
	for _, group := range at.AllFlags(true) {
		for _, f := range group {
			names = append(names, "--"+f.Name)
		}
	}
	return names
}

func childNamed(at *kong.Node, name string) *kong.Node {
	for _, child := range at.Children {
		if child.Name == name {
			return child
		}
	}
	return nil
}

func beginWith(typed string, words []string) []string {
	var fitting []string
	for _, word := range words {
		if word != "" && strings.HasPrefix(word, typed) {
			fitting = append(fitting, word)
		}
	}
	return fitting
}
