#pragma once
// How what a rank communicates is measured from outside. No torch in this header.

#include <cstdint>
#include <functional>
#include <string>

namespace d9d {

// Calls `work` once and may measure it.
using AroundWork =
    std::function<void(const std::string& name, std::uint64_t bytes, const std::function<void()>& work)>;

struct CommunicationWatch {
  AroundWork beside;  // what is communicated beside compute, on the thread of the communication lane
  AroundWork wait;    // wherever the compute of an action stands still for others
  AroundWork inside;  // collectives of the modules, inside an action, on the thread that computes
};

}  // namespace d9d
