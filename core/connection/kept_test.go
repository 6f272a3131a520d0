package connection

import "testing"

func TestAnOlderRevisionReplacesNoNewerDriver(t *testing.T) {
	d := NewDrivers(DriverOptions{})
	defer d.Close()
	for _, revision := range []int64{2, 1} {
		d.keep(opened{connection: Connection{ID: "c", TenantID: "acme", Revision: revision}})
	}
	if there, _ := d.kept.Get("c"); there.connection.Revision != 2 {
		t.Errorf("revision %d is kept", there.connection.Revision)
	}
}

func TestDriversOfADeletedTenantAreDropped(t *testing.T) {
	d := NewDrivers(DriverOptions{})
	defer d.Close()
	for id, tenantID := range map[string]string{"a": "acme", "b": "acme", "c": "other"} {
		d.keep(opened{connection: Connection{ID: id, TenantID: tenantID}})
	}
	d.DropTenant("acme")
	if left := d.kept.Keys(); len(left) != 1 || left[0] != "c" {
		t.Errorf("kept %v", left)
	}
}
