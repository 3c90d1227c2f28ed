#include "kernels/graph/saving_place.hpp"

#include <utility>

namespace d9d::kernels {
namespace {

SavingPlace*& place_of_thread() {
  static thread_local SavingPlace* place = nullptr;
  return place;
}

}  // namespace

SavingPlace* SavingPlace::current() {
  return place_of_thread();
}

SavingPlace::Scope::Scope(SavingPlace* place) : previous_(std::exchange(place_of_thread(), place)) {}

SavingPlace::Scope::~Scope() {
  place_of_thread() = previous_;
}

}  // namespace d9d::kernels
