import { createAppAddress, type ServiceAddress } from '../../server/http/app-address.ts'
import type { Settings } from '../../server/settings/store.ts'

/** The address of a service that listens on 127.0.0.1:8000 and trusts that machine and 10.0.0.0/8 as proxies. */
export const addressWith = (settings: Pick<Settings, 'now'>): ServiceAddress =>
  createAppAddress({
    settings,
    trustedProxies: ['127.0.0.0/8', '10.0.0.0/8'],
    host: '127.0.0.1',
    port: 8000,
    machine: 'here',
  })
