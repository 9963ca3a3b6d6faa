package bench

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestRunMeasuresWhatAGroupNames(t *testing.T) {
	var got []string
	if err := Run(t.Context(), []string{"parse/one-call"}, func(r Result) {
		got = append(got, r.Name)
		if r.Value <= 0 || r.Unit == "" || r.Ratio == nil || *r.Ratio <= 0 {
			t.Errorf("got %+v", r)
		}
	}); err != nil || len(got) != 1 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestAnUnknownNameRunsNothingAndNamesWhatThereIs(t *testing.T) {
	err := Run(t.Context(), []string{"parse", "none"}, func(r Result) { t.Errorf("%s ran", r.Name) })
	if err == nil || !strings.Contains(err.Error(), "parse/prose") {
		t.Errorf("got %v", err)
	}
}

func TestRunEndsBetweenTwoBenchmarks(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Run(ctx, nil, func(Result) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
