// PyTorch's own CUDA allocator without a GPU: libc10_cuda.so over functions of the CUDA runtime that only count bytes.
// Built and run by torch_allocator.py.
//
// usage: cuda_allocator EVENTS CAP...   For each cap (bytes of the device) a line: bytes reserved at most, the line of
// EVENTS at which memory ran out (0: it never did), retries after each step. EVENTS: "+ buffer bytes", "- buffer 0",
// "= 0 0" at the end of a step.
#include <c10/cuda/CUDACachingAllocator.h>
#if __has_include(<c10/cuda/PeerToPeerAccess.h>)
#include <c10/cuda/PeerToPeerAccess.h>
#define INIT_PEERS c10::cuda::detail::init_p2p_access_cache(1)
#else
#define INIT_PEERS (void)0
#endif
#include <c10/util/Exception.h>
#include <cuda.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <unordered_map>
#include <vector>

static size_t cap, used, top = size_t{1} << 45, handles;
static std::map<size_t, size_t> taken; // bytes behind addresses and handles

static bool take(size_t key, size_t bytes) {
    if (bytes > cap - used)
        return false;
    used += bytes;
    taken[key] = bytes;
    return true;
}

static void give(size_t key) {
    used -= taken[key];
    taken.erase(key);
}

// ---- the driver, for expandable segments ----

static CUresult fine() { return CUDA_SUCCESS; }
static CUresult reserve(CUdeviceptr* address, size_t bytes, size_t, CUdeviceptr, unsigned long long) {
    static size_t at = size_t{1} << 50;
    *address = at;
    at += bytes + (size_t{1} << 30);
    return CUDA_SUCCESS;
}
static CUresult create(
    CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp*, unsigned long long) {
    if (!take(handles + 1, bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    *handle = ++handles;
    return CUDA_SUCCESS;
}
static CUresult release(CUmemGenericAllocationHandle handle) {
    give(handle);
    return CUDA_SUCCESS;
}
static CUresult attribute(int* value, CUdevice_attribute, CUdevice) {
    *value = 0;
    return CUDA_SUCCESS;
}
static CUresult text(CUresult, const char** words) {
    *words = "no device";
    return CUDA_SUCCESS;
}
static CUresult granularity(size_t* bytes, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) {
    *bytes = 2 << 20;
    return CUDA_SUCCESS;
}

// ---- the runtime ----

extern "C" {
cudaError_t cudaMalloc(void** address, size_t bytes) {
    if (!take(top, bytes))
        return cudaErrorMemoryAllocation;
    *address = reinterpret_cast<void*>(top);
    top += (bytes + (4 << 20)) >> 21 << 21; // segments never touch
    return cudaSuccess;
}
cudaError_t cudaFree(void* address) {
    give(reinterpret_cast<size_t>(address));
    return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
    *free = cap - used;
    *total = size_t{1} << 40;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
    memset(properties, 0, sizeof *properties);
    properties->totalGlobalMem = size_t{1} << 40;
    properties->major = 9;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) { return *count = 1, cudaSuccess; }
cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaDriverGetVersion(int* version) { return *version = 13000, cudaSuccess; }
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
    return *status = cudaStreamCaptureStatusNone, cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* most) { return *least = *most = 0, cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "no device"; }
const char* cudaGetErrorName(cudaError_t) { return "no device"; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) { return cudaSuccess; }
cudaError_t cudaGetDriverEntryPointByVersion(
    const char* name, void** function, unsigned, unsigned long long, cudaDriverEntryPointQueryResult* result) {
    const std::map<std::string, void*> known = { { "cuMemAddressReserve", (void*)reserve },
        { "cuMemCreate", (void*)create }, { "cuMemRelease", (void*)release }, { "cuGetErrorString", (void*)text },
        { "cuDeviceGetAttribute", (void*)attribute }, { "cuMemGetAllocationGranularity", (void*)granularity } };
    auto found = known.find(name);
    *function = found == known.end() ? (void*)fine : found->second;
    if (result)
        *result = cudaDriverEntryPointSuccess;
    return cudaSuccess;
}
#if CUDART_VERSION < 13000
#undef cudaGetDriverEntryPoint
cudaError_t cudaGetDriverEntryPoint(
    const char* name, void** function, unsigned long long flags, cudaDriverEntryPointQueryResult* result) {
    return cudaGetDriverEntryPointByVersion(name, function, 0, flags, result);
}
#endif
}

// ---- a run ----

struct event { char sign; long buffer; size_t bytes; };

static void play(const std::vector<event>& events) {
    namespace allocator = c10::cuda::CUDACachingAllocator;
    std::unordered_map<long, void*> at;
    std::string retries;
    size_t line = 0, failed = 0;
    INIT_PEERS;
    allocator::init(1);
    for (const event& next : events) {
        line++;
        if (next.sign == '=') {
            retries += " " + std::to_string(allocator::getDeviceStats(0).num_alloc_retries);
        } else if (next.sign == '-') {
            allocator::get()->raw_delete(at[next.buffer]);
        } else {
            try {
                at[next.buffer] = allocator::get()->raw_alloc(next.bytes);
            } catch (const c10::OutOfMemoryError&) {
                failed = line;
                break;
            }
        }
    }
    printf("%ld %zu%s\n", (long)allocator::getDeviceStats(0).reserved_bytes[0].peak, failed, retries.c_str());
    fflush(stdout);
    _exit(0);
}

int main(int argc, char** argv) {
    std::vector<event> events;
    event next;
    FILE* file = argc > 2 ? fopen(argv[1], "r") : nullptr;
    if (!file)
        return 2;
    while (fscanf(file, " %c %ld %zu", &next.sign, &next.buffer, &next.bytes) == 3)
        events.push_back(next);
    for (int i = 2; i < argc; i++) {
        cap = strtoull(argv[i], nullptr, 10);
        pid_t child = fork();
        int status = 0;
        if (child == 0)
            play(events);
        if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0)
            return 1;
    }
    return 0;
}
