package google

import (
	"testing"

	"frontdesk/core/adapter"
)

func TestRefreshTokensStay(t *testing.T) {
	g, err := grant(settings{}, nil)
	if err != nil || g.Flow != adapter.Consent || g.Rotation != adapter.RotationNone {
		t.Errorf("%+v, %v", g, err)
	}
}
