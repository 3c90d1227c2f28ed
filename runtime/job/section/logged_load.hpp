#pragma once
// Key `trainer.logging.expert_load`.

#include <boost/describe/enum.hpp>

namespace d9d {

// Which loads of experts are logged: none, the extremes of the model, those of each layer as well.
enum class LoggedLoad { none, model, layers };
BOOST_DESCRIBE_ENUM(LoggedLoad, none, model, layers)

}  // namespace d9d
