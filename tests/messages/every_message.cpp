#include "tests/messages/every_message.hpp"

#include <capnp/any.h>
#include <capnp/dynamic.h>

#include <algorithm>
#include <map>

#include "messages/checkpoint.capnp.h"
#include "messages/cluster.capnp.h"
#include "messages/data.capnp.h"
#include "messages/event.capnp.h"
#include "messages/metrics.capnp.h"
#include "messages/pipeline.capnp.h"
#include "messages/texts.capnp.h"
#include "messages/trace.capnp.h"
#include "messages/train.capnp.h"

namespace d9d::test {
namespace {

using capnp::DynamicList;
using capnp::DynamicStruct;
using capnp::DynamicValue;

unsigned ordinal_of(capnp::StructSchema::Field field) {
  return field.getProto().getOrdinal().getExplicit();
}

void fill(DynamicStruct::Builder message);

// A value of the type that is not its default; `seed` makes neighbours differ.
DynamicValue::Reader scalar(capnp::Type type, unsigned seed, std::string& text) {
  if (type.isBool()) return true;
  if (type.isFloat32() || type.isFloat64()) return 0.5 + seed;
  if (type.isEnum()) return capnp::DynamicEnum(type.asEnum(), 1);
  text = "text " + std::to_string(seed);
  if (type.isText()) return capnp::Text::Reader(text.c_str(), text.size());
  if (type.isData()) return capnp::Data::Reader(reinterpret_cast<const kj::byte*>(text.data()), text.size());
  return seed + 100;
}

void fill(DynamicList::Builder list) {
  const capnp::Type type = list.getSchema().getElementType();
  std::string text;
  for (unsigned i = 0; i < list.size(); ++i) {
    if (type.isStruct()) {
      fill(list[i].as<DynamicStruct>());
    } else {
      list.set(i, scalar(type, i + 1, text));
    }
  }
}

void fill(DynamicStruct::Builder message) {
  std::string text;
  for (const auto field : message.getSchema().getFields()) {
    if (field.getType().isList()) {
      fill(message.init(field, 2).as<DynamicList>());
    } else if (field.getType().isStruct()) {
      fill(message.init(field).as<DynamicStruct>());
    } else {
      message.set(field, scalar(field.getType(), ordinal_of(field) + 1, text));
    }
  }
}

std::string dump(DynamicStruct::Reader message);

std::string dump(const DynamicValue::Reader& value) {
  std::string text;
  switch (value.getType()) {
    case DynamicValue::STRUCT:
      return "{" + dump(value.as<DynamicStruct>()) + "}";
    case DynamicValue::ENUM:
      return std::to_string(value.as<capnp::DynamicEnum>().getRaw());
    case DynamicValue::LIST:
      for (const auto element : value.as<DynamicList>()) text += (text.empty() ? "" : " ") + dump(element);
      return "[" + text + "]";
    default:
      return kj::str(value).cStr();
  }
}

std::string dump(DynamicStruct::Reader message) {
  std::map<unsigned, std::string> by_ordinal;
  for (const auto field : message.getSchema().getFields()) {
    if (!message.has(field, capnp::HasMode::NON_DEFAULT)) continue;
    by_ordinal[ordinal_of(field)] = dump(message.get(field));
  }
  std::string text;
  for (const auto& [ordinal, value] : by_ordinal) {
    text += (text.empty() ? "@" : " @") + std::to_string(ordinal) + "=" + value;
  }
  return text;
}

template <class T>
MessageKind kind() {
  return {capnp::Schema::from<T>().getShortDisplayName().cStr(), capnp::typeId<T>(), capnp::Schema::from<T>(),
          [](const Header& header) {
            return encode<T>(header,
                             [](typename T::Builder body) { fill(capnp::toDynamic(std::move(body))); });
          }};
}

template <class... T>
std::vector<MessageKind> kinds() {
  return {kind<T>()...};
}

}  // namespace

const std::vector<MessageKind>& every_message() {
  using namespace wire;
  static const std::vector<MessageKind> all =
      kinds<Failed, Ready, Stop, Join, wire::Refused, Welcome, NodeReady, StartTraining, RankFinished,
            Signalled, StopNode, Dialed, Greeting, PeerDown, Tick, LoadBatches, BatchReady, DataEnded,
            BeginStep, ActivationReady, GradientReady, SendTensors, TensorsAnnounced, StepComputed,
            StepApplied, LeadAction, ReduceBucket, BucketReduced, ReduceValues, ValuesReduced, HookGradients,
            Sleep, Slept, Wake, Awake, GradientsHooked, ApplyStep, StepFinished, EvaluationFinished, Snapshot,
            WriteShard, ShardWritten, CheckpointState, CheckpointCommitted, RollBack, RestoreState,
            StateRestored, GenerateTexts, TextsGenerated, WriteRollouts, RolloutsWritten, ExportModel,
            ModelExported, CollectMetrics, MetricsTaken, MetricValues, RecordValue, StepShown, MetricState,
            FlushTracker, TrackerFlushed, Subscribe, Publish, Event, AskForListeners, Listeners, FlushEvents,
            EventsHeard, EventsFollowed, EndJob, ScaleLearningRate, KeepState, StateKept, FlushTrace, Spans,
            TraceWritten, ClockProbe, ClockReply>();
  return all;
}

const MessageKind* kind_of(std::uint64_t type) {
  const auto& all = every_message();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& kind) { return kind.type == type; });
  return found == all.end() ? nullptr : &*found;
}

Header sample_header() {
  return {.epoch = 3,
          .sender = {Role::trainer, 1},
          .receiver = {Role::rank_executor, 2},
          .sequence = 4,
          .send_time_ns = 5,
          .flow = 6};
}

std::string dump(const Decoded& decoded, const MessageKind& kind) {
  return dump(decoded.body<capnp::AnyStruct>().as<DynamicStruct>(kind.schema));
}

}  // namespace d9d::test
