package vault

import (
	"encoding/binary"
	"fmt"
)

// Row is what a value is sealed for: the columns of its row that must not change without it.
type Row struct {
	Purpose RowPurpose
	Columns []string // in a fixed order
}

// RowPurpose keeps what is sealed for a row of one table from being opened for a row of another.
type RowPurpose string

// The purposes of rows.
const (
	ConnectionRow RowPurpose = "connection" // seals the credentials
	KeyRow        RowPurpose = "api key"    // seals nothing
	LinkRow       RowPurpose = "connect link"
)

// rowForm is the first byte of what SealRow makes. Tink's ciphertexts begin with 0 or 1, and JSON with
// neither.
const rowForm = 2

// IsRow reports whether SealRow may have made it. It is true of everything that OpenRow opens.
func IsRow(sealed []byte) bool { return len(sealed) > 0 && sealed[0] == rowForm }

// SealRow seals a value for its row with the primary key. While the key set cannot be read again, it seals
// with the one at hand: a rotation leaves its keys in the set.
func (v *Vault) SealRow(row Row, plain []byte) ([]byte, error) {
	_ = v.refresh()
	sealed, err := v.encrypt(plain, row.binding())
	if err != nil {
		return nil, err
	}
	return append([]byte{rowForm}, sealed...), nil
}

// OpenRow opens what SealRow made for the same row. A key that is not known makes it read the key set again;
// see Unseal.
func (v *Vault) OpenRow(row Row, sealed []byte) ([]byte, error) {
	if !IsRow(sealed) {
		return nil, unreadable().Because(fmt.Errorf("vault: the %s is not sealed as this version seals it",
			row.Purpose))
	}
	plain, err := v.decrypt(sealed[1:], row.binding())
	if err != nil {
		return nil, err
	}
	return plain, nil
}

// SealColumn is SealRow for one column of a row that its keys name.
func (v *Vault) SealColumn(table, column string, row []string, plain []byte) ([]byte, error) {
	return v.SealRow(columnRow(table, column, row), plain)
}

// OpenColumn is OpenRow for what SealColumn made.
func (v *Vault) OpenColumn(table, column string, row []string, sealed []byte) ([]byte, error) {
	return v.OpenRow(columnRow(table, column, row), sealed)
}

// IsSealed is [IsRow].
func (*Vault) IsSealed(value []byte) bool { return IsRow(value) }

func columnRow(table, column string, row []string) Row {
	return Row{Purpose: RowPurpose("column " + table + "." + column), Columns: row}
}

// binding returns the associated data: the purpose and the columns, each with its length so that no other row
// reads the same.
func (r Row) binding() []byte {
	b := fmt.Appendf(nil, "frontdesk row %d\n%s\n", rowForm, r.Purpose)
	for _, column := range r.Columns {
		b = binary.BigEndian.AppendUint64(b, uint64(len(column)))
		b = append(b, column...)
	}
	return b
}
