//go:build !attack

package main

const attacked = false // see attacker_test.go
