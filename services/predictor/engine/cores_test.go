package engine

import (
	"testing"
	"testing/fstest"
)

// ORT-01: the threads follow the quota of the container, not the host.
func TestQuota(t *testing.T) {
	const host = 64
	cases := map[string]struct {
		files map[string]string
		want  int
	}{
		"no quota":        {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, host},
		"half a core":     {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "50000 100000\n"}, 1},
		"a core and half": {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "150000 100000\n"}, 1},
		"two cores":       {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "200000 100000\n"}, 2},
		"own and above": {map[string]string{
			"proc/self/cgroup": "0::/system.slice/predictor.service\n", "sys/fs/cgroup/system.slice/cpu.max": "300000 100000\n",
			"sys/fs/cgroup/system.slice/predictor.service/cpu.max": "max 100000\n",
		}, 3},
		"version 1":     {map[string]string{"proc/self/cgroup": "4:cpu,cpuacct:/docker/1\n"}, host},
		"unknown form":  {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "lots\n"}, host},
		"no such files": {nil, host},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			system := fstest.MapFS{}
			for file, text := range c.files {
				system[file] = &fstest.MapFile{Data: []byte(text)}
			}
			if got := quota(system, host); got != c.want {
				t.Errorf("%d cores, want %d", got, c.want)
			}
		})
	}
}

func TestShare(t *testing.T) {
	cpu, gpu := Device{Kind: CPU}, Device{Kind: CUDA}
	cases := map[string]struct {
		cores, count, intra        int
		device                     Device
		wantInstances, wantThreads int
	}{
		"one core":                  {1, 0, 0, cpu, 1, 1},
		"two cores":                 {2, 0, 0, cpu, 2, 1},
		"many cores":                {16, 0, 0, cpu, 2, 8},
		"odd cores":                 {7, 0, 0, cpu, 2, 3},
		"instances that are wanted": {16, 4, 0, cpu, 4, 4},
		"more of them than cores":   {2, 8, 0, cpu, 8, 1},
		"threads that are wanted":   {16, 0, 12, cpu, 1, 12},
		"few threads":               {16, 0, 4, cpu, 2, 4},
		"both":                      {2, 3, 5, cpu, 3, 5},
		"GPU":                       {16, 0, 0, gpu, 1, 1},
		"GPU with instances":        {16, 2, 0, gpu, 2, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			instances, threads := share(c.cores, placement{device: c.device, count: c.count}, c.intra)
			if instances != c.wantInstances || threads != c.wantThreads {
				t.Errorf("%d instances with %d threads, want %d with %d", instances, threads, c.wantInstances, c.wantThreads)
			}
		})
	}
}
