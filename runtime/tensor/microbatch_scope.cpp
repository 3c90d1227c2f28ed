#include "runtime/tensor/microbatch_scope.hpp"

namespace d9d {
namespace {

MicrobatchPlace& place_of_thread() {
  thread_local MicrobatchPlace place;
  return place;
}

}  // namespace

MicrobatchScope::MicrobatchScope(MicrobatchPlace place) : previous_(place_of_thread()) {
  place_of_thread() = place;
}

MicrobatchScope::~MicrobatchScope() {
  place_of_thread() = previous_;
}

const MicrobatchPlace& MicrobatchScope::current() {
  return place_of_thread();
}

}  // namespace d9d
