package service

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	watchCommits()
	goleak.VerifyTestMain(m)
}
