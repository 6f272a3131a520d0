package tenant

// Resealed is what a Reseal did.
type Resealed struct {
	Sealed  int            // connections sealed again with the primary key
	Already int            // connections that were already
	InUse   map[uint32]int // how many connections each key is needed for now
}
