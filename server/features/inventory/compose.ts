import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import { clients } from './client-contract.ts'
import { clientHandlers, type ClientRouteDeps } from './client-handlers.ts'
import { inventory } from './contract.ts'
import { inventoryHandlers } from './handlers.ts'

export type InventoryNeeds = Omit<ClientRouteDeps, 'changed'>

/** Machines: what they run, what is newer here, what is wrong with it. */
export function composeInventory(needs: InventoryNeeds): Feature {
  const deps = { ...needs, changed: async () => undefined }
  const pending = bind(inventory, inventoryHandlers as never, deps).filter(({ key }) => key in inventoryHandlers)
  return { routes: [...bind(clients, clientHandlers, deps), ...pending] }
}
