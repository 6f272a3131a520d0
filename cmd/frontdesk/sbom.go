package main

import (
	"debug/buildinfo"
	"io"
	"regexp"
	"runtime/debug"
	"strings"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"

	"frontdesk/core/gateway"
)

// sbomOf returns the bill of materials of a binary of Frontdesk, or of this one if path is "".
func sbomOf(path string) (*cyclonedx.BOM, error) {
	if path == "" {
		info, _ := debug.ReadBuildInfo()
		return sbom(info), nil
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return sbom(info), nil
}

// sbom lists what is linked into a binary: its modules, by what the linker recorded, and Go's library. It has
// neither a time nor a serial number, so that two builds of one version have one bill.
func sbom(info *debug.BuildInfo) *cyclonedx.BOM {
	main := cyclonedx.Component{
		BOMRef: "frontdesk", Type: cyclonedx.ComponentTypeApplication, Name: "frontdesk", Version: gateway.Version(),
		Licenses: licensed("Apache-2.0"),
	}
	components := []cyclonedx.Component{library("std", strings.TrimPrefix(info.GoVersion, "go"), licenseOf("Go"))}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		components = append(components,
			library(module.Path, module.Version, licenseOf(module.Path+" "+module.Version)))
	}
	needs := make([]string, 0, len(components))
	for _, c := range components {
		needs = append(needs, c.BOMRef)
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Component: &main}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: main.BOMRef, Dependencies: &needs}}
	return bom
}

// library returns a module by its package URL (purl's specification, type golang).
func library(path, version, license string) cyclonedx.Component {
	url := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	c := cyclonedx.Component{
		BOMRef: url, Type: cyclonedx.ComponentTypeLibrary, Name: path, Version: version, PackageURL: url,
	}
	if license != "" {
		c.Licenses = licensed(license)
	}
	return c
}

// licensed returns an SPDX license expression as a component has it.
func licensed(expression string) *cyclonedx.Licenses {
	return &cyclonedx.Licenses{{Expression: expression}}
}

// licenseMarks are words that only the text of one licence has, in small letters, with its SPDX id. Of the two BSD
// licences, the longer one comes first.
var licenseMarks = []struct{ words, id string }{
	{"apache license version 2.0", "Apache-2.0"},
	{"mozilla public license, version 2.0", "MPL-2.0"},
	{"mozilla public license version 2.0", "MPL-2.0"},
	{"permission is hereby granted, free of charge, to any person obtaining a copy", "MIT"},
	{"neither the name", "BSD-3-Clause"},
	{"redistributions of source code must retain", "BSD-2-Clause"},
	{"permission to use, copy, modify, and/or distribute this software", "ISC"},
}

// ownLicense is the name of the file with a module's own licence. Others are those of what the module copied.
var ownLicense = regexp.MustCompile(`(?i)^(licen[sc]e|copying)(\.(txt|md))?\)$`)

// licenseOf returns the SPDX id of a module's licence, or "" if it is none of those known. It reads the texts
// that come with the binary.
func licenseOf(module string) string {
	for section := range strings.SplitSeq(licenses, strings.Repeat("=", 80)+"\n") {
		names, text, _ := strings.Cut(section, "\n\n")
		for name := range strings.Lines(names) {
			file, found := strings.CutPrefix(strings.TrimSpace(name), module+" (")
			if !found || !ownLicense.MatchString(file) {
				continue
			}
			text = strings.ToLower(strings.Join(strings.Fields(text), " "))
			for _, mark := range licenseMarks {
				if strings.Contains(text, mark.words) {
					return mark.id
				}
			}
		}
	}
	return ""
}

// writeSBOM writes a bill in CycloneDX's JSON.
func writeSBOM(to io.Writer, bom *cyclonedx.BOM) error {
	return cyclonedx.NewBOMEncoder(to, cyclonedx.BOMFileFormatJSON).SetPretty(true).
		EncodeVersion(bom, cyclonedx.SpecVersion1_6)
}
