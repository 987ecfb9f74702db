#include "cuda/address_cache.h"

namespace gpuos::cu {

bool AddressCache::ask(std::uint64_t address) const {
  const ContextScope scope(context_);
  CUmemorytype type = CU_MEMORYTYPE_HOST;
  const CUresult status = driver().cuPointerGetAttribute(
      &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
  return status == CUDA_SUCCESS && type == CU_MEMORYTYPE_DEVICE;
}

}  // namespace gpuos::cu
