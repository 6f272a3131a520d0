package store_test

import (
	"testing"

	"frontdesk/core/store/storetest"
)

func TestSmoke(t *testing.T) {
	s := storetest.Open(t, storetest.SQLite(t))
	if n, err := s.Pending(t.Context()); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	p := storetest.Open(t, storetest.Postgres(t))
	if n, err := p.Pending(t.Context()); n != 0 || err != nil {
		t.Fatal(n, err)
	}
}
