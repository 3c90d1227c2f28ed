#include "runtime/task/task_records.hpp"

#include <utility>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"
#include "runtime/metric/sink/picture_file.hpp"

namespace d9d {
namespace {

std::size_t size_of(const TaskRecord& record) {
  if (const auto* text = std::get_if<TextRecord>(&record.value)) return text->text.size();
  if (const auto* picture = std::get_if<Picture>(&record.value)) return picture->png.size();
  return 0;
}

}  // namespace

void TaskRecords::add(TaskRecord record) {
  D9D_REQUIRE(!record.name.empty(), "the task records a value of step {} without a name", record.step);
  const auto* picture = std::get_if<Picture>(&record.value);
  D9D_REQUIRE(picture == nullptr || size_of_png(picture->png),
              "the task records the picture {} of step {}, whose bytes are no PNG file", record.name,
              record.step);
  const std::lock_guard lock(mutex_);
  const std::size_t bytes = size_of(record);
  if (records_.size() == count_max || bytes_ + bytes > bytes_max) {
    ++left_out_;
    return;
  }
  bytes_ += bytes;
  records_.push_back(std::move(record));
}

std::vector<TaskRecord> TaskRecords::take() {
  const std::lock_guard lock(mutex_);
  if (const std::size_t left_out = std::exchange(left_out_, 0); left_out > 0) {
    log::warn("the task records more than {} or {} MiB between two steps; {} left out of the trackers",
              counted(count_max, "value"), bytes_max >> 20, left_out);
  }
  bytes_ = 0;
  return std::exchange(records_, {});
}

}  // namespace d9d
