#pragma once
// The way of the learning-rate multiplier from one value to the next within a phase
// (LR-03). `progress` p in [0, 1):
//   linear       start + (end - start) p
//   cosine       end + (start - end) (1 + cos(pi p)) / 2
//   poly         start + (end - start) p^power
//   exponential  exp of the straight line between the logarithms; smaller ends are raised to 1e-8

#include <boost/describe/class.hpp>

#include <array>
#include <variant>

#include "runtime/base/config/keys.hpp"

namespace d9d {

struct LinearCurve {};
BOOST_DESCRIBE_STRUCT(LinearCurve, (), ())

struct CosineCurve {};
BOOST_DESCRIBE_STRUCT(CosineCurve, (), ())

struct ExponentialCurve {};
BOOST_DESCRIBE_STRUCT(ExponentialCurve, (), ())

struct PolyCurve {
  double power = 2.0;
};
BOOST_DESCRIBE_STRUCT(PolyCurve, (), (power))
constexpr auto keys_of(config::Tag<PolyCurve>) {
  return std::array{config::Key{"power", "", "exponent of the progress", config::optional, config::above(0)}};
}

using LrCurve = std::variant<LinearCurve, CosineCurve, ExponentialCurve, PolyCurve>;
constexpr auto choices_of(config::Tag<LrCurve>) {
  return config::Choices<4>{
      "type",
      {{{"linear", "A straight line."},
        {"cosine", "Half a period of a cosine: flat at both ends."},
        {"exponential", "A straight line between the logarithms, clamped to at least 1e-8."},
        {"poly", "The progress raised to a power."}}}};
}

double interpolate(const LrCurve& curve, double start, double end, double progress);

}  // namespace d9d
