package crm

import "testing"

func TestANumericIDIsDigitsAsCRMsWriteThem(t *testing.T) {
	for id, want := range map[string]bool{
		"1": true, "501001202520": true, "20978392000101": true, "9223372036854775807": true, "": false, "0": false,
		"-1": false, "+1": false, "01": false, "1.0": false, "9223372036854775808": false, "１": false, "1 ": false,
		"1/x": false, "1/comments": false,
	} {
		if _, got := ParseNumericID(id); got != want {
			t.Errorf("%q is an id: %v", id, got)
		}
	}
}
