#pragma once
// Which part of its host a process of a job has, where several of them run on one.

namespace d9d {

struct Share {
  int index = 0;
  int count = 1;

  bool operator==(const Share&) const = default;
};

struct HostShare {
  Share launched{};            // of its command among those that a launcher has started on this host
  bool devices_bound = false;  // the launcher has left to each of those its own devices
  Share worker{};              // of the process among those of its command
};

}  // namespace d9d
