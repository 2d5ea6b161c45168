import type { Client } from 'pg'

/** Works with a connection of its own, which is closed at the end. */
export async function connected<T>(open: () => Client, work: (client: Client) => Promise<T>): Promise<T> {
  const client = open()
  client.on('error', () => undefined) // the statement under way says it
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}
