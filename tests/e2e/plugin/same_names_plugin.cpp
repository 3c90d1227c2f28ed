// Built several times, as plugins that know nothing of each other: each has a class mine::Table, whose members, choices
// and static are its own. D9D_COPY says which.
#include <boost/describe/class.hpp>

#include <fstream>
#include <variant>

#include "runtime/base/config/codec_struct.hpp"
#include "runtime/plugin/own_tracker.hpp"

namespace mine {

struct Slow {
  double by = 1;
};
BOOST_DESCRIBE_STRUCT(Slow, (), (by))
struct Fast {
  double by = 2;
};
BOOST_DESCRIBE_STRUCT(Fast, (), (by))
using Speed = std::variant<Slow, Fast>;
constexpr auto choices_of(d9d::config::Tag<Speed>) {
#if D9D_COPY % 2 == 1
  return d9d::config::Choices{"kind",
                              std::array{d9d::config::Choice{"slow", ""}, d9d::config::Choice{"fast", ""}}};
#else
  return d9d::config::Choices{"kind",
                              std::array{d9d::config::Choice{"fast", ""}, d9d::config::Choice{"slow", ""}}};
#endif
}

inline int number() {
  static int copy = D9D_COPY;
  return copy++;
}

struct Table final : d9d::TrackerRun {
#if D9D_COPY == 1
  double first = 0, second = 0;
#elif D9D_COPY == 2
  double second = 0, first = 0;
#elif D9D_COPY == 3
  std::string third;
  double first = 0;
#else
  std::vector<double> first;
  std::int64_t second = 0;
#endif
  Speed speed;
  void prepare(const d9d::TrackerContext& run);
  void write(const d9d::Point&, const d9d::TrackerValue&) override {}
};
#if D9D_COPY == 1
BOOST_DESCRIBE_STRUCT(Table, (), (first, second, speed))
#elif D9D_COPY == 2
BOOST_DESCRIBE_STRUCT(Table, (), (second, first, speed))
#elif D9D_COPY == 3
BOOST_DESCRIBE_STRUCT(Table, (), (third, first, speed))
#else
BOOST_DESCRIBE_STRUCT(Table, (), (first, second, speed))
#endif

inline void Table::prepare(const d9d::TrackerContext& run) {
  nlohmann::json keys = d9d::config::Codec<Table>::write(*this);
  keys["number"] = number();
  std::ofstream(run.folder + "/copy" + std::to_string(D9D_COPY) + ".json") << keys;
}

}  // namespace mine

extern "C" void d9d_register(d9d::Registry& registry) {
  d9d::add_tracker<mine::Table>(registry, "table" + std::to_string(D9D_COPY));
}
