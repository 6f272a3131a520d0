package main

import _ "embed"

// licenses are the licences of everything that is linked into the binary. Most of them ask for their text to
// go with it. TestLicensesAreThoseOfWhatIsLinked keeps them true.
//
//go:embed licenses.txt
var licenses string

type licensesCommand struct{}

// Run prints the licences.
func (licensesCommand) Run(s *session) error {
	_, err := s.out.Write([]byte(licenses))
	return err
}
