#pragma once
// How what a rank communicates is measured from outside. No torch in this header.

#include "runtime/comm/around_work.hpp"

namespace d9d {

struct CommunicationWatch {
  AroundWork beside;  // what is communicated beside compute, on the thread of the communication lane
  AroundWork wait;    // wherever the compute of an action stands still for others
  AroundWork inside;  // collectives of the modules, inside an action, on the thread that computes
};

}  // namespace d9d
