package gateway

import "syscall"

// Numbers of file systems that other machines serve (statfs(2)).
var networkFileSystems = map[uint32]string{
	0x6969: "NFS", 0x517B: "SMB", 0xFF534D42: "CIFS", 0xFE534D42: "SMB2", 0x01021997: "9P",
	0x00C36400: "Ceph",
	0x5346414F: "AFS", 0x47504653: "GPFS", 0x0BD00BD0: "Lustre", 0x7461636F: "OCFS2", 0x01161970: "GFS2",
}

// volumeOf describes the volume that holds a path.
func volumeOf(path string) (volume, error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(path, &fs); err != nil {
		return volume{}, err
	}
	block := uint64(max(0, fs.Bsize))
	return volume{
		freeBytes: fs.Bavail * block, allBytes: fs.Blocks * block, files: fs.Files, freeFiles: fs.Ffree,
		network: networkFileSystems[uint32(fs.Type)],
	}, nil
}
