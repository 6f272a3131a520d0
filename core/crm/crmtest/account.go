package crmtest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/crm"
)

// accountChecks returns the checks of Account and Vocabulary.
func accountChecks() []Check {
	return []Check{
		{Name: "the account is the credentials' own", Harmless: true, Do: accountIsOurs},
		{Name: "the account is asked live", Harmless: true, Bound: provides[conformance.CallCounter],
			Do: accountIsLive},
		{Name: "the vocabulary has no empty and no doubled label", Harmless: true, Do: labelsAreUsable},
		{Name: "the vocabulary is the CRM's, in its order", Harmless: true, Bound: knowsVocabulary,
			Do: vocabularyIsTheCRMs},
	}
}

func knowsVocabulary(h Harness) bool {
	return len(h.Vocabulary.Statuses)+len(h.Vocabulary.Priorities) > 0
}

func accountIsOurs(ctx context.Context, h Harness) error {
	got, err := h.Open().Account(ctx)
	if err != nil {
		return err
	}
	if h.Account != (crm.Account{}) && got != h.Account {
		return fmt.Errorf("the account is %+v, want %+v", got, h.Account)
	}
	if got.Email != "" && strings.Count(got.Email, "@") != 1 {
		return fmt.Errorf(`the account's email is %q, which is no address; want "" when there is none`, got.Email)
	}
	return nil
}

func accountIsLive(ctx context.Context, h Harness) error {
	d := h.Open()
	return conformance.AskedLive(h.Provider, "Account", func() error { _, err := d.Account(ctx); return err })
}

func labelsAreUsable(ctx context.Context, h Harness) error {
	v, err := h.Open().Vocabulary(ctx)
	if err != nil {
		return err
	}
	for _, labels := range [][]string{v.Statuses, v.Priorities} {
		seen := map[string]bool{}
		for _, label := range labels {
			folded := strings.ToLower(label) // labels are matched without case
			if label == "" || label != strings.TrimSpace(label) || seen[folded] {
				return fmt.Errorf("the label %q is empty, padded or doubled among %q", label, labels)
			}
			seen[folded] = true
		}
	}
	return nil
}

func vocabularyIsTheCRMs(ctx context.Context, h Harness) error {
	got, err := h.Open().Vocabulary(ctx)
	if err != nil {
		return err
	}
	if !slices.Equal(got.Statuses, h.Vocabulary.Statuses) ||
		!slices.Equal(got.Priorities, h.Vocabulary.Priorities) {
		return fmt.Errorf("the vocabulary is %q, want %q", got, h.Vocabulary)
	}
	return nil
}
