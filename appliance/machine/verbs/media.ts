import { join } from 'node:path'
import { readMedia as read } from '../../../server/machine/media.ts'
import type { MediumView } from '../../../server/machine/protocol.ts'

/** Where sticks are mounted, each by the id of its file system. */
export const MEDIA = '/run/gatehouse-media'

/**
 * The sticks that are in and were looked at, in the order of their ids. Whoever looked had no rights over the machine,
 * and is believed nothing that is not proven by what takes the file in.
 * @param root  where the machine's `/` is
 */
export const readMedia = ({ root }: { readonly root: string }): Promise<MediumView[]> => read(join(root, MEDIA))
