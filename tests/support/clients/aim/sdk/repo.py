class Repo:
    @staticmethod
    def from_path(path, init):
        pass
