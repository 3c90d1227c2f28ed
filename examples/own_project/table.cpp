// A tracker: a table of all numbers for a spreadsheet, a line each: step, name, value.
#include <fstream>

#include "mine.hpp"
#include "runtime/base/error.hpp"
#include "runtime/metric/tracker.hpp"

namespace mine {
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

d9d::OpenTracker make_table(const TableConfig& config) {
  return [config](const d9d::TrackerContext& context) {
    return std::make_unique<Table>(context.folder + "/" + config.file, context.last_step > 0);
  };
}

}  // namespace mine
