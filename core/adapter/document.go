package adapter

import "encoding/json"

// GetDocument reads a document of a Storage. It reports whether there is one.
func GetDocument[T any](tx StorageTx, key string) (doc T, found bool, err error) {
	value, err := tx.Get(key)
	if err != nil || value == nil {
		return doc, false, err
	}
	return doc, true, json.Unmarshal(value, &doc)
}

// PutDocument writes a document.
func PutDocument(tx StorageTx, key string, doc any) error {
	value, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	return tx.Put(key, value)
}

// ScanDocuments calls each for documents as StorageTx.Scan does. It ends with the first that cannot be read.
func ScanDocuments[T any](tx StorageTx, prefix, after string, each func(key string, doc T) (more bool)) error {
	var broken error
	err := tx.Scan(prefix, after, func(key string, value []byte) bool {
		var doc T
		broken = json.Unmarshal(value, &doc)
		return broken == nil && each(key, doc)
	})
	if err != nil {
		return err
	}
	return broken
}
