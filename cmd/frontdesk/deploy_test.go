package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

var byDigest = regexp.MustCompile(`^[a-z0-9./-]+:[0-9][a-z0-9.-]*@sha256:[0-9a-f]{64}$`)

// A tag can be moved to another image. A container without a memory limit can take its neighbours' memory.
func TestImagesAreNamedByDigestAndLimited(t *testing.T) {
	from := regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(read(t, "../../deploy/Dockerfile"), -1)
	for _, image := range from {
		if image[1] != "scratch" && !byDigest.MatchString(image[1]) {
			t.Errorf("the Dockerfile begins from %s", image[1])
		}
	}
	if len(from) == 0 {
		t.Error("no image is found in the Dockerfile")
	}
	var compose struct {
		Services map[string]struct {
			Image string
			Build any
			Limit string `yaml:"mem_limit"`
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "../../deploy/compose.yaml")), &compose); err != nil ||
		len(compose.Services) != 2 {
		t.Fatalf("%v, %v", compose, err)
	}
	for name, service := range compose.Services {
		if service.Build == nil && !byDigest.MatchString(service.Image) {
			t.Errorf("the service %s runs %s", name, service.Image)
		}
		if service.Limit == "" {
			t.Errorf("the service %s has no limit of memory", name)
		}
	}
	if !strings.Contains(read(t, "../../deploy/frontdesk.service"), "\nMemoryMax=") {
		t.Error("the unit has no limit of memory")
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
