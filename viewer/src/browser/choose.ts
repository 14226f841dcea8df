// What files are: the capture, programs, sources.

export interface Chosen {
  name: string;
  data: File;
}

/** What is opened of the files. */
export interface Choice {
  path: string;
  images: string[];
  binaries: string[];
}

/** Bytes at the beginning of a file that show what it is. */
const HEAD = 8;
/** The names of sources, of descriptions and of others that are not trace. */
const OTHERS = /\.(c|cc|cpp|cxx|h|hh|hpp|inl|s|S|asm|rs|go|zig|ld|lds|md|txt|toml|ini|json|twx|map|log|csv)$/;
const INDEXES = ["snapshot.ini", "capture.toml"];

async function head(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.slice(0, HEAD).arrayBuffer());
  return String.fromCharCode(...bytes);
}

const folderOf = (name: string): string => name.slice(0, Math.max(0, name.lastIndexOf("/")));
const lastOf = (name: string): string => name.slice(name.lastIndexOf("/") + 1);

/** The captures among `files`: one, or several to choose from. */
export async function captures(files: readonly Chosen[]): Promise<Choice[]> {
  const programs: string[] = [];
  const recordings: string[] = [];
  const raw: string[] = [];
  for (const { name, data } of files) {
    const start = await head(data);
    if (start.startsWith("\x7fELF")) programs.push(name);
    else if (start.startsWith("PERFILE2") || start.startsWith("2ELIFREP")) recordings.push(name);
    else if (!OTHERS.test(name) && data.size > 0) raw.push(name);
  }
  const described = files.filter(({ name }) => INDEXES.includes(lastOf(name)));
  if (described.length > 0) {
    const paths = new Set(described.map(({ name }) => (folderOf(name) === "" ? name : folderOf(name))));
    return Array.from(paths, (path) => {
      // What is inside of the folder is for the description to name.
      const outside = programs.filter((program) => program.includes("/") && !program.startsWith(`${path}/`));
      const beside = programs.filter((program) => !program.includes("/"));
      return { path, images: INDEXES.includes(path) ? outside : [...outside, ...beside], binaries: [] };
    });
  }
  if (recordings.length > 0) return recordings.map((path) => ({ path, images: [], binaries: programs }));
  return raw.map((path) => ({ path, images: programs, binaries: [] }));
}

/** The files of what was dropped, with the names of folders. */
export async function dropped(transfer: DataTransfer): Promise<Chosen[]> {
  const entries = Array.from(transfer.items, (item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  const files: Chosen[] = [];
  const read = async (entry: FileSystemEntry): Promise<void> => {
    if (entry.isFile) {
      const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
      files.push({ name: entry.fullPath.replace(/^\//, ""), data: file });
      return;
    }
    const reader = (entry as FileSystemDirectoryEntry).createReader();
    for (;;) {
      const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
      if (some.length === 0) return;
      for (const inner of some) await read(inner);
    }
  };
  for (const entry of entries) await read(entry);
  return files;
}

/** The files of an input element. */
export function picked(list: FileList): Chosen[] {
  return Array.from(list, (data) => ({ name: data.webkitRelativePath === "" ? data.name : data.webkitRelativePath, data }));
}
