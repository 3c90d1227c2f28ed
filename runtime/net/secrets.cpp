#include "runtime/net/secrets.hpp"

namespace d9d::net {

Secrets::Secrets(const Secret& job, bool awaits_membership) : kind_(job.kind), job_(key_of(job)) {
  if (!awaits_membership) member_ = job_;
}

void Secrets::enter_membership(const std::string& secret) {
  const std::lock_guard lock(mutex_);
  member_ = member_key_of(job_, secret);
}

bool Secrets::is_member() const {
  const std::lock_guard lock(mutex_);
  return member_.has_value();
}

std::optional<Key> Secrets::key_for(Purpose purpose) const {
  if (purpose == Purpose::joining) return job_;
  const std::lock_guard lock(mutex_);
  return member_;
}

std::string Secrets::why_stranger(const Hello& hello) const {
  if (kind_ == SecretKind::command)
    return "this job's processes are all started by one command, and it was not started by that one";
  if (hello.secret == SecretKind::command)
    return "it was started by a command that has all processes of its job, and this is another job";
  if (kind_ == SecretKind::token && hello.secret == SecretKind::none)
    return "the job has a job token (node.job_token_file, D9D_JOB_TOKEN), and it gives none";
  if (kind_ == SecretKind::none && hello.secret == SecretKind::token)
    return "it gives a job token (node.job_token_file, D9D_JOB_TOKEN), and the job has none";
  if (hello.purpose != Purpose::joining) return "it belongs to another job, or to another start of this one";
  if (kind_ == SecretKind::token) return "the job token (node.job_token) differs";
  return "it says again what was said on another connection";
}

}  // namespace d9d::net
