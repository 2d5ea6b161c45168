import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import { registries } from './contract.ts'
import { images } from './image-contract.ts'
import { imageHandlers, type ImageDeps } from './image-handlers.ts'
import { proxies } from './proxy-contract.ts'
import { proxyHandlers } from './proxy-handlers.ts'
import { registryHandlers, type RegistryRouteDeps } from './handlers.ts'

/** Registries that an admin makes, changes and removes, and what they hold. */
export const composeRegistryRoutes = (needs: RegistryRouteDeps & ImageDeps): Feature => ({
  routes: [
    ...bind(registries, registryHandlers, needs),
    ...bind(proxies, proxyHandlers, needs),
    ...bind(images, imageHandlers, needs),
  ],
})
