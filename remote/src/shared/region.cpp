// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "shared/region.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>

#include "kserve/messages.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::remote {
namespace {

constexpr SharingProtocol kSystem{
    .register_method = kSharedMemoryRegister,
    .unregister_method = kSharedMemoryUnregister,
    .name = "system shared memory",
    .advice = "A Triton on this host takes it when it is started with --allow-client-shm=true"};

std::size_t whole_pages(std::size_t bytes) { return whole(bytes, Region::unit()); }

/// Removes regions whose process was killed: a live one has a lock on its file.
void remove_orphans() {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(kRegionPrefix)) continue;
    const int file = shm_open(('/' + name).c_str(), O_RDWR, 0);
    if (file < 0) continue;
    if (flock(file, LOCK_EX | LOCK_NB) == 0) shm_unlink(('/' + name).c_str());
    close(file);
  }
}

}  // namespace

Region::Region(std::size_t bytes)
    : SharedRegion(kSystem), bytes_(whole_pages(bytes)), free_(bytes_) {
  if (bytes == 0 || bytes_ < bytes) {
    throw ConfigError("SharedMemory: got " + std::to_string(bytes) +
                      " bytes, expected at least 1 and at most what /dev/shm has");
  }
  remove_orphans();
  const auto fail = [&](const char* what) {
    const std::string why = std::strerror(errno);
    if (file_ >= 0) {
      shm_unlink(('/' + name_).c_str());
      close(file_);
    }
    throw DeviceFullError("SharedMemory: " + std::to_string(bytes_) +
                          " bytes of /dev/shm: " + what + ": " + why +
                          "; make it smaller, or /dev/shm larger (containers: --shm-size)");
  };
  struct stat status {};
  do {  // until no other process took it for an orphan before it was locked
    if (file_ >= 0) close(file_);
    name_ = random_name();
    file_ = shm_open(('/' + name_).c_str(), O_CREAT | O_EXCL | O_RDWR, S_IRUSR | S_IWUSR);
    if (file_ < 0) fail("it cannot be made");
    if (flock(file_, LOCK_EX) != 0 || fstat(file_, &status) != 0) fail("it cannot be locked");
  } while (status.st_nlink == 0);
  // Takes the memory now: what is missing later is a signal.
  errno = posix_fallocate(file_, 0, static_cast<off_t>(bytes_));
  if (errno != 0) fail("there is no room");
  void* const base = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (base == MAP_FAILED) fail("it cannot be mapped");
  base_ = static_cast<std::byte*>(base);
}

std::size_t Region::unit() noexcept { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

std::string Region::registration() const { return encode_register(name_, bytes_); }

Region::~Region() {
  munmap(base_, bytes_);
  shm_unlink(('/' + name_).c_str());
  close(file_);
}

std::byte* Region::allocate(std::size_t bytes) {
  if (bytes > bytes_) return nullptr;  // before rounding up, which may overflow
  const std::size_t pages = whole_pages(std::max<std::size_t>(bytes, 1));
  const std::lock_guard lock(mutex_);
  const std::optional<std::size_t> place = free_.take(pages);
  if (!place) return nullptr;
  try {
    allocations_[*place] = {pages, place};
  } catch (...) {
    free_.give_back(*place, pages);
    throw;
  }
  return base_ + *place;
}

void Region::release(std::byte* data) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = allocations_.find(static_cast<std::size_t>(data - base_));
  if (found == allocations_.end()) return;
  const Allocation allocation = found->second;
  allocations_.erase(found);
  // The pages at their own address; an address whose pages were exchanged is not used again.
  if (allocation.place) free_.give_back(*allocation.place, allocation.bytes);
}

Region::Allocations::const_iterator Region::around(const void* data) const {
  if (!contains(data)) return allocations_.end();
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(data) - base_);
  auto after = allocations_.upper_bound(offset);
  if (after == allocations_.begin()) return allocations_.end();
  const auto found = std::prev(after);
  return offset < found->first + found->second.bytes ? found : allocations_.end();
}

std::optional<std::uint64_t> Region::find(const void* data, std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  const auto found = around(data);
  if (found == allocations_.end() || !found->second.place) return std::nullopt;
  const auto inside =
      static_cast<std::size_t>(static_cast<const std::byte*>(data) - base_) - found->first;
  if (bytes > found->second.bytes - inside) return std::nullopt;
  return *found->second.place + inside;
}

void Region::exchange_pages(const void* data) {
  const std::lock_guard lock(mutex_);
  const auto found = around(data);
  if (found == allocations_.end() || !found->second.place) return;
  const std::size_t bytes = found->second.bytes;
  std::byte* const address = base_ + found->first;
  const std::optional<std::size_t> place = free_.take(bytes);
  // Filled elsewhere, then put in place by one system call, so that readers never see other contents.
  void* const fresh =
      place ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_,
                   static_cast<off_t>(*place))
            : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const auto fail = [&](const char* what) {
    const std::string why = std::strerror(errno);
    if (place) free_.give_back(*place, bytes);  // no request has named them
    throw DeviceFullError("SharedMemory: other pages for " + std::to_string(bytes) +
                          " bytes whose server was given up: " + what + ": " + why +
                          "; the process needs more address space (ulimit -v, vm.max_map_count)");
  };
  if (fresh == MAP_FAILED) fail("there is no address");
  std::memcpy(fresh, address, bytes);
  if (mremap(fresh, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, address) == MAP_FAILED) {
    munmap(fresh, bytes);
    fail("they cannot be mapped");
  }
  allocations_[found->first].place = place;
}

LiveRegions<Region>& host_regions() {
  static LiveRegions<Region> the_regions;
  return the_regions;
}

}  // namespace tensoa::remote
