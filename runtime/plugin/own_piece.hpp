#pragma once
// How the pieces of a plugin are registered by their types, each with the keys of its section in the job file:
//
//   struct Repeats final : SampleSource {          // a class: its described members are the keys
//     Count phrase = 8;                            // a whole number of at least 1
//     ...
//   };
//   BOOST_DESCRIBE_STRUCT(Repeats, (), (phrase))   // keys_of() beside it may say more of them (base/config/keys.hpp)
//
//   struct Hide { std::size_t every = 16; };       // a function: its keys are its first argument
//   BOOST_DESCRIBE_STRUCT(Hide, (), (every))
//   TensorMap hide(const Hide& keys, std::span<const Sample> samples);
//
// The functions that register: own_data.hpp, own_task.hpp, own_model.hpp, own_training.hpp, own_tracker.hpp, all of
// them by own_pieces.hpp; actors by actors/job/own_actor.hpp. What they do not reach is registered with Registry
// itself.

#include <boost/describe/class.hpp>

#include <memory>

#include "runtime/base/config/count_key.hpp"
#include "runtime/base/config/decode.hpp"
#include "runtime/plugin/registry.hpp"

namespace d9d {

using config::Count;

// A section without keys.
struct NoKeys {};
BOOST_DESCRIBE_STRUCT(NoKeys, (), ())

namespace own {

// Reads the section into the described members; input errors as decode().
template <class Piece>
void read_keys(Piece& piece, const config::Section& section) {
  if constexpr (config::DescribedStruct<Piece>) {
    config::Problems problems;
    config::Codec<Piece>::read(piece, section.node, config::Path{nullptr, section.path}, problems);
    problems.throw_if_any();
  } else {
    config::decode<NoKeys>(section);
  }
}

// A piece with its keys. Then its prepare(context) is called, or its prepare(), where it has one.
template <class Piece, class Context>
std::shared_ptr<Piece> make(const config::Section& section, const Context& context) {
  auto piece = std::make_shared<Piece>();
  read_keys(*piece, section);
  if constexpr (requires { piece->prepare(context); }) {
    piece->prepare(context);
  } else if constexpr (requires { piece->prepare(); }) {
    piece->prepare();
  }
  return piece;
}

}  // namespace own
}  // namespace d9d
