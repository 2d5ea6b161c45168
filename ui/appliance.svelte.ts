import { call } from './api.ts'
import type { SetupStatus } from './wire.ts'

type Named = SetupStatus['appliance']

// What the settings of the server call it. In the desktop program the person's own words come first.
let named = $state.raw<Named>({ name: '', environment: '', colour: 'ochre' })

/** The name and environment that the server gives itself, as they were last read. */
export function namedByServer(): Named {
  return named
}

/** Takes up what the server says of itself; one of an older release says nothing. */
export function takeNamed(said: Named | undefined): void {
  if (said !== undefined) named = said
}

/** Reads them again, after the settings were changed. */
export async function refreshNamed(): Promise<void> {
  takeNamed((await call('GET /setup/status')).appliance)
}
