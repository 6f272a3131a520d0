package vault

import (
	"encoding/binary"
	"fmt"
	"time"
)

// Row identifies the row that a value is sealed for, by the columns that must not change unless the value is
// sealed again.
type Row struct {
	Purpose RowPurpose
	Columns []string // in a fixed order
}

// RowPurpose keeps a value sealed for a row of one table from being opened for a row of another.
type RowPurpose string

// The purposes of rows.
const (
	ConnectionRow RowPurpose = "connection" // seals the credentials
	KeyRow        RowPurpose = "api key"    // seals an empty value
	LinkRow       RowPurpose = "connect link"
	WebhookRow    RowPurpose = "webhook" // seals the signing secrets
	ProbeRow      RowPurpose = "probe"   // seals an empty value: no row, but a gateway's answer to its doctor
)

// rowForm is the first byte of what SealRow returns. Tink's ciphertexts begin with 0 or 1, and JSON with none
// of these bytes.
const rowForm = 2

// IsRow reports whether sealed may come from SealRow. It is true of everything that OpenRow opens.
func IsRow(sealed []byte) bool { return len(sealed) > 0 && sealed[0] == rowForm }

// RowHead returns how everything begins that SealRow seals with a key.
func RowHead(key uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{rowForm, keyedForm}, key)
}

// lookForRows is how often it is looked whether the key set changed before a row is sealed. A call seals several, and
// a rotation has to expect rows that were sealed just before it and are written only after it.
const lookForRows = 10 * time.Millisecond

// SealRow seals a value for its row with the primary key. If the key set cannot be read again, SealRow uses
// the keys read before: a rotation leaves them in the set.
func (v *Vault) SealRow(row Row, plain []byte) ([]byte, error) {
	if now := int64(time.Since(v.opened)); now-v.looked.Load() >= int64(lookForRows) {
		v.looked.Store(now)
		_ = v.refresh()
	}
	sealed, err := v.encrypt(plain, row.binding())
	if err != nil {
		return nil, err
	}
	return append([]byte{rowForm}, sealed...), nil
}

// OpenRow opens a value that SealRow sealed for the same row. If the key is not known, OpenRow reads the key
// set again; see Unseal.
func (v *Vault) OpenRow(row Row, sealed []byte) ([]byte, error) {
	if !IsRow(sealed) {
		return nil, unreadable().Because(fmt.Errorf("vault: the %s is not sealed as this version seals it",
			row.Purpose))
	}
	return v.decrypt(sealed[1:], row.binding())
}

// SealColumn is SealRow for one column of the row with the given keys.
func (v *Vault) SealColumn(table, column string, row []string, plain []byte) ([]byte, error) {
	return v.SealRow(columnRow(table, column, row), plain)
}

// OpenColumn is OpenRow for a value that SealColumn sealed.
func (v *Vault) OpenColumn(table, column string, row []string, sealed []byte) ([]byte, error) {
	return v.OpenRow(columnRow(table, column, row), sealed)
}

// IsSealed is [IsRow].
func (*Vault) IsSealed(value []byte) bool { return IsRow(value) }

func columnRow(table, column string, row []string) Row {
	return Row{Purpose: RowPurpose("column " + table + "." + column), Columns: row}
}

// binding returns the associated data: the purpose and the columns, each column after its length so that no
// two rows have the same data.
func (r Row) binding() []byte {
	b := fmt.Appendf(nil, "frontdesk row %d\n%s\n", rowForm, r.Purpose)
	for _, column := range r.Columns {
		b = binary.BigEndian.AppendUint64(b, uint64(len(column)))
		b = append(b, column...)
	}
	return b
}
