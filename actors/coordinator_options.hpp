#pragma once
// What a Coordinator is told about its job, and what it may do to the disk.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "actors/notes/pending_saves.hpp"

namespace d9d {

struct ResumePoint {
  std::string directory;  // committed checkpoint, empty = a fresh start
  std::uint64_t step = 0;
  std::string state;              // JSON: what the checkpoint keeps beside tensors
  std::uint64_t next_sample = 0;  // data cursor in global samples
  std::uint64_t entries = 0;      // tensors in it: all of them must find a place
  std::string differences{};      // of its job and this one, told; empty = none
  std::string warning{};          // what they mean, said when all has found its place
};

struct CoordinatorOptions {
  int world_size = 1;
  std::string build, job_hash;
  std::string tag;     // random per job start: names what is being written
  std::string secret;  // random per job start: what members know besides the job's own
  std::chrono::milliseconds join_timeout{600'000};
  std::function<ResumePoint()> find_resume_point;
  std::function<std::string(const CheckpointParts&)> commit;  // returns the directory
  std::function<void(std::uint64_t)> discard;                 // of the checkpoint after this step
  std::function<void()> make_room;                            // the disk was full; unset: nothing may go
  std::string export_to;                                      // empty = no export
  std::function<std::string(const std::string& last)>
      choose_export;  // of which checkpoint; unset: the last one
  std::chrono::milliseconds export_timeout{3'600'000};
  // Makes the folder that all nodes fill; unset: node 0 exports alone. Then it is published, or removed.
  std::function<std::string()> begin_export;
  std::function<void()> publish_export, discard_export;
  std::function<void(std::uint64_t step)> on_training;  // which begins after this step
  // Of a job that has begun to train. `signal`: the one that stopped it, or 0.
  std::function<void(bool failed, int signal, const std::string& reason)> on_end;
  std::string events = "train";  // or "inference": how the names of checkpoints' events begin
  std::size_t own_actors = 0;    // of the job file, on node 0
  bool trace = false;            // write a trace file at the end
  std::string job_keys;          // JSON behind job_hash
};

}  // namespace d9d
