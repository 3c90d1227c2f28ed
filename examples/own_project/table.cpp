// A tracker: a table of all numbers for a spreadsheet, a line each: step, name, value.
#include <boost/describe/class.hpp>

#include <fstream>

#include "mine.hpp"
#include "runtime/base/config/decode.hpp"
#include "runtime/base/config/keys.hpp"
#include "runtime/base/error.hpp"
#include "runtime/metric/tracker.hpp"
#include "runtime/task/registry.hpp"

namespace mine {

struct TableConfig {
  std::string file = "table.csv";
};
BOOST_DESCRIBE_STRUCT(TableConfig, (), (file))
constexpr auto keys_of(d9d::config::Tag<TableConfig>) {
  return std::array{d9d::config::Key{"file", "", "its name in the run's folder"}};
}

namespace {

class Table final : public d9d::TrackerRun {
 public:
  // A run that goes on after a stop goes on in its table.
  explicit Table(const std::string& path, bool goes_on)
      : path_(path), file_(path, goes_on ? std::ios::app : std::ios::trunc) {
    if (!goes_on) file_ << "step,name,value\n";
  }

  void write(const d9d::Point& point, const d9d::TrackerValue& value) override {
    if (const auto* scalar = std::get_if<d9d::Scalar>(&value))
      file_ << point.step << ',' << d9d::flat_name(point) << ',' << scalar->value << '\n';
  }
  void end_step(std::int64_t) override {}
  void hparams(const nlohmann::json&) override {}
  void flush() override {
    if (!file_.flush()) throw d9d::Error(d9d::ErrorKind::environment, path_ + " could not be written");
  }
  void close() override { flush(); }

 private:
  const std::string path_;
  std::ofstream file_;
};

}  // namespace

// `check` makes the tracker, too; the run is opened when the job starts.
void add_table(d9d::Registry& registry) {
  registry.add_tracker("table", [](const d9d::config::Section& section) -> d9d::OpenTracker {
    return [config = d9d::config::decode<TableConfig>(section)](const d9d::TrackerContext& context) {
      return std::make_unique<Table>(context.folder + "/" + config.file, context.last_step > 0);
    };
  });
}

}  // namespace mine
