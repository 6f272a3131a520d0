package vault

import (
	"strings"
	"testing"
)

// FuzzParse checks that reading any key file ends, and that its errors quote nothing of the file.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "{}", `{"primaryKeyId":1,"key":[]}`,
		`{"primaryKeyId":1,"key":[{"keyData":{"typeUrl":"type.googleapis.com/google.crypto.tink.AesGcmKey","value":"GiBWyUfGgYk3RTRhj/LIUzSudIWlyjCftCOypTr0jCNSLg==","keyMaterialType":"SYMMETRIC"},"status":"ENABLED","keyId":1,"outputPrefixType":"TINK"}]}`,
		`{"primaryKeyId":1,"key":[{"keyData":{"typeUrl":"type.googleapis.com/google.crypto.tink.AesGcmKey","value":"s3cret-material","keyMaterialType":"SYMMETRIC"},"status":"ENABLED","keyId":1,"outputPrefixType":"TINK"}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		k, err := form{}.parse(t.Context(), raw)
		if err != nil {
			if strings.Contains(err.Error(), "s3cret") {
				t.Fatalf("the fault quotes a key: %v", err)
			}
			return
		}
		if _, err := k.cipher.Encrypt([]byte("x"), nil); err != nil {
			t.Fatalf("a key set that was taken seals nothing: %v", err)
		}
	})
}
