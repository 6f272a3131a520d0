package main

import _ "embed"

// licenses holds the licences of everything that is linked into the binary. Most of them require their text
// to be distributed with it. TestLicensesAreThoseOfWhatIsLinked checks that licenses.txt is up to date.
//
//go:embed licenses.txt
var licenses string

type licensesCommand struct{}

// Run prints the licences.
func (licensesCommand) Run(s *session) error {
	_, err := s.out.Write([]byte(licenses))
	return err
}
