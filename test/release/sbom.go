package main

import (
	"fmt"
	"os"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/CycloneDX/cyclonedx-gomod/pkg/generate/bin"
	"github.com/google/uuid"
	"github.com/rs/zerolog"
)

// writeSBOM writes the software bill of materials of a program: what its build information
// says, and the licenses of the modules in Go's cache.
func writeSBOM(path, binary, version string, made time.Time) (err error) {
	generator, err := bin.NewGenerator(binary, bin.WithIncludeStdlib(true), bin.WithVersionOverride(version),
		bin.WithLicenseDetector(licenseDetector{}), bin.WithLogger(zerolog.Nop()))
	if err != nil {
		return err
	}
	bom, err := generator.Generate()
	if err != nil {
		return fmt.Errorf("bill of materials of %s: %w", binary, err)
	}
	sum, err := sha256Of(binary)
	if err != nil {
		return err
	}
	// A number of its own, and the same for the same program.
	bom.SerialNumber = uuid.NewSHA1(uuid.NameSpaceOID, []byte(sum)).URN()
	bom.Metadata.Timestamp = made.Format(time.RFC3339)
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if e := out.Close(); err == nil {
			err = e
		}
	}()
	return cdx.NewBOMEncoder(out, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
}

// licenseDetector says the licenses of modules to the generator.
type licenseDetector struct{}

func (licenseDetector) Detect(_, _, dir string) ([]cdx.License, error) {
	files, err := licenseFiles(dir)
	if err != nil {
		return nil, err
	}
	ids, err := licensesOf(files)
	if err != nil {
		return nil, err
	}
	var licenses []cdx.License
	for _, id := range ids {
		licenses = append(licenses, cdx.License{ID: id})
	}
	return licenses, nil
}
