package service

import (
	"testing"

	"frontdesk/core/store/storetest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	watchCommits()
	storetest.ManyAtATime()
	goleak.VerifyTestMain(storetest.M{M: m})
}
