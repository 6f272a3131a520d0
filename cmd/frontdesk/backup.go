package main

import (
	"context"
	"fmt"

	"frontdesk/core/gateway"
)

type backupCommand struct {
	File string `arg:"" help:"The file to write. It must not exist yet." type:"path"`
}

// Run copies the database.
func (c backupCommand) Run(ctx context.Context, s *session) error {
	if err := checkFile(c.File); err != nil {
		return err
	}
	g, err := s.gateway(ctx)
	if err != nil {
		return err
	}
	defer g.Close()
	if err := g.Backup(ctx, c.File); err != nil {
		return err
	}
	fmt.Fprintln(s.err, "The copy holds no key. Back up the key set as well, and keep it apart from the "+
		"copy: without it, the copy's credentials cannot be opened.")
	return nil
}

// checkFile refuses "-" as the name of a file to write, by which people mean standard output.
func checkFile(name string) error {
	if name == "-" {
		return usage("the copy cannot be written to standard output; name a file")
	}
	return nil
}

type restoreCommand struct {
	File string `arg:"" help:"A file that backup wrote." type:"existingfile"`
}

// Run replaces the database with the copy.
func (c restoreCommand) Run(ctx context.Context, s *session) error {
	cfg, err := s.configForCommand()
	if err != nil {
		return err
	}
	done, err := gateway.Restore(ctx, cfg, c.File, s.options())
	if err != nil {
		return err
	}
	fmt.Fprintf(s.err, "Restored: %d tenants, and every change up to row %d of the audit.\n",
		done.Tenants, done.Head.Rows)
	if done.Before != "" {
		fmt.Fprintf(s.err, "The former database is now %s.\n", done.Before)
	}
	if done.HeadFile != "" {
		fmt.Fprintf(s.err, "Changes made after the copy are not in it. The last known one is recorded in "+
			"%s.\n", done.HeadFile)
	}
	return nil
}
