package main

import (
	"testing"

	"frontdesk/core/store/storetest"
)

// The bare commits take the same address as the gateway.
func TestBareCommitsAreMadeWhereTheGatewayWrites(t *testing.T) {
	storetest.EmptyPostgres(t) // skips the test where there is no PostgreSQL
	f := &fixture{}
	defer f.end()
	urls, err := (&bench{}).databases(t.Context(), f, 1)
	if err != nil {
		t.Fatal(err)
	}
	bare, err := barePostgres(t.Context(), urls[0])
	if err != nil {
		t.Fatal(err)
	}
	defer bare.db.Close()
	if _, err := bare.call(t.Context(), 1); err != nil {
		t.Error(err)
	}
}
