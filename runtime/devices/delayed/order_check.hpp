#pragma once
// Finds accesses to the memory of delayed devices that no event orders. Whether a missing wait shows in numbers is a
// question of luck; that it is missing is not: when work is given to a stream, all that it may come behind is known.
// Happens-before with vector clocks, as race detectors for threads do it (Flanagan, Freund, "FastTrack", PLDI 2009);
// here streams take the place of threads and events that of locks.

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/devices/delayed/clock.hpp"

namespace d9d::delayed {

// What happens to memory beside work. Between an end and a begin it is free: no piece of work may touch it.
// Told apart by their addresses: an array has one in the whole program, a literal need not.
inline constexpr char begin_of_life[] = "the begin of its life";
inline constexpr char end_of_life[] = "the end of its life";

// Bytes [begin, end) of the address space. A view with gaps touches the gaps, too.
struct Touch {
  std::uintptr_t begin = 0, end = 0;
  bool writes = false;
};

// What a piece of work does to memory.
struct Touched {
  const char* op = "";  // lives as long as the process
  std::vector<Touch> memory = {};
  bool exchanges = false;  // other ranks wait for it
};

// A piece of work of a stream.
struct Given {
  int place = 0;             // stream_place()
  std::uint64_t number = 0;  // ascending on its stream
  const char* op = "";
  const std::string* work = nullptr;  // WorkName::current() where it was given
};

// "mm on delayed:1 compute in 0B2"
std::string text_of(const Given& given);

// Of all devices of the process. Any thread.
class OrderCheck {
 public:
  static OrderCheck& of_process();

  // `given` runs behind all that `known` covers. A text that names both pieces, if it touches what another one writes,
  // or writes what another one touches, and `known` does not cover that one, or if it touches freed memory. Of several
  // conflicts the first; "" if there is none.
  std::string touch(const Given& given, const Clock& known, const std::vector<Touch>& memory);
  // As if no piece of work had touched these addresses.
  void forget(std::uintptr_t begin, std::uintptr_t end);

 private:
  // Bytes that were last touched alike.
  struct Stretch {
    std::uintptr_t end = 0;
    Given written;            // number 0: not yet
    std::vector<Given> read;  // since then, the last of each stream
  };
  using Stretches = std::map<std::uintptr_t, Stretch>;  // by their begin

  Stretches::iterator cut(std::uintptr_t at);
  std::string read(const Given& given, const Clock& known, const Touch& touch);
  std::string write(const Given& given, const Clock& known, const Touch& touch);

  std::mutex mutex_;
  Stretches stretches_;
};

}  // namespace d9d::delayed
